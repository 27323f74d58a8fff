"""`fourhands acp --agent NAME`: an agent of the workbench as an ACP agent, for Zed, JetBrains, Neovim and others."""
