"""Everything kept in a database: conversations, feedback, API keys and running streams."""
