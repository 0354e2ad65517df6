"""File operations on any file system that Spark can reach, through Hadoop's client."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def is_hidden(name: str) -> bool:
    """Whether readers pass over a file or folder of this name."""
    return name.startswith((".", "_"))


class Files:
    """The file system behind one path."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
        self._path = jvm.org.apache.hadoop.fs.Path
        conf = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
        fs = self._path(path).getFileSystem(conf)
        if str(fs.getUri().getScheme()) == "file":
            # The local file system keeps a hidden checksum beside every file; the raw one leaves folders clean.
            fs = jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf).getRaw()
        self._fs = fs

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, sorted; none if there is no such folder."""
        path = self._path(folder)
        if not self._fs.exists(path):
            return []
        return sorted(s.getPath().getName() for s in self._fs.listStatus(path) if s.isFile())

    def folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder."""
        path = self._path(folder)
        if not self._fs.exists(path):
            return []
        return sorted(s.getPath().getName() for s in self._fs.listStatus(path) if s.isDirectory())

    def below(self, folder: str) -> list[str]:
        """The files in a folder and in those below it, by their paths from there; hidden ones are left out."""
        found = [name for name in self.names(folder) if not is_hidden(name)]
        for inner in self.folders(folder):
            if not is_hidden(inner):
                found += [f"{inner}/{name}" for name in self.below(f"{folder}/{inner}")]
        return found

    def make_folder(self, folder: str) -> None:
        """Make a folder and those above it."""
        self._fs.mkdirs(self._path(folder))

    def move(self, old: str, new: str) -> None:
        """Rename a file; the new name must be free."""
        if not self._fs.rename(self._path(old), self._path(new)):
            raise OSError(f"could not move {old} to {new}")

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it; it need not exist."""
        self._fs.delete(self._path(path), True)
