"""What a mill tells of its definitions and queries: lists, descriptions, analyses, reasons."""
