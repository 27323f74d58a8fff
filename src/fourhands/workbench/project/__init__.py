"""The knowledge of a project that agents are told: files of instructions, and skills."""
