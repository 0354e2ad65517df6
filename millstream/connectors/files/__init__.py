"""What kinds of files share: which files there are, lines of them, and folders and single files that are written."""
