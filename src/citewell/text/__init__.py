"""Markdown and prose: sentences, terms, plain text and what is hidden by markup."""
