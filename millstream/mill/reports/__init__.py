"""Reports on definitions and queries: lists, descriptions, analyses, reasons."""
