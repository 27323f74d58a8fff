"""Records: the journal, outputs, consent."""
