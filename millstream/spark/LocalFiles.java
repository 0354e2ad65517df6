package millstream;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/** Hadoop's local file system, but for permissions: Hadoop starts a process for each file that it gives some. */
public class LocalFiles extends LocalFileSystem {

    public LocalFiles() {
        super(new Raw());
    }

    public static class Raw extends RawLocalFileSystem {

        public void setPermission(Path path, FsPermission permission) throws IOException {
            try {
                Files.setAttribute(pathToFile(path).toPath(), "unix:mode", Integer.valueOf(permission.toShort()));
            } catch (InvalidPathException nameOfOtherLetters) {
                super.setPermission(path, permission);
            }
        }
    }
}
