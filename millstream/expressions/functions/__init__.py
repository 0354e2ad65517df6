"""The functions of the language: one file per family, with their signatures and what they are to each evaluator."""
