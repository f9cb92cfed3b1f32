"""Records what the product does, so that a refactoring can prove that it changed nothing."""
