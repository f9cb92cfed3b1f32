"""Reading prose: where sentences begin and end, which words carry meaning, what markup hides."""
