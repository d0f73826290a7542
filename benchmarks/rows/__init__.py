"""One module per group of rows, each with an async `measure(size)`."""
