"""The functions of the language: one file per family, with the signature and the forms of each function."""
