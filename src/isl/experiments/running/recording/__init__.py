"""What is kept of a run while it goes on: episodes, beliefs, TensorBoard rows."""
