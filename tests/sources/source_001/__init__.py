"""Source 001: an agent that controls the workbench as the person does: blocks, commands, manifest, instructions.

Each module holds a part of the document with its ids: `stories` its user stories, `commands` FR-3.1 to 3.5, `stream`
FR-3.6, `hub` FR-3.7 to 3.11, `rules` what stands behind them, `gaps` its audit. An id that the document uses
twice has its section before it.
"""
