"""The parts that all kinds of files share: lists of files, their lines, and folders and single files as sinks."""
