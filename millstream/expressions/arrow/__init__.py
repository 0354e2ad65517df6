"""What an expression does with columns: one file per family of functions. Knows neither SQL nor the catalog."""
