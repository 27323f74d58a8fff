"""The commands, one file per noun; inert when imported, wired by `app.py`."""
