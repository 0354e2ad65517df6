"""The options that several kinds of sources and sinks take."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.catalog.options import Option, boolean, character, column_names, count, one_of

CSV_TEXT: Mapping[str, Option] = {
    "header": Option(boolean, True, "the first line of a file names the columns", shapes_rows=True),
    "delimiter": Option(character, ",", "what stands between two fields", shapes_rows=True),
    "null": Option(str, "", "the text of a field that means NULL", shapes_rows=True),
}
"""How CSV is written."""

BATCH: Mapping[str, Option] = {
    "max_files_per_batch": Option(count, None, "how many new files one micro-batch takes at the most"),
    "max_bytes_per_batch": Option(count, 512 * 1024 * 1024, "how many bytes one micro-batch takes at the most"),
}
"""What sources of files take."""

FOLDER: Mapping[str, Option] = {
    "mode": Option(one_of("append", "overwrite"), "append", "whether a new query keeps what the sink holds"),
    "partition_by": Option(column_names, (), "the columns whose values name the folders that rows lie in"),
}
"""What sinks of files take."""
