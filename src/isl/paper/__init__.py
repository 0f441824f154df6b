"""The paper's experiments: which runs, their rows in tables, figures, pages and costs."""
