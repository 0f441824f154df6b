"""The paper's mathematics: no agent, no training loop."""
