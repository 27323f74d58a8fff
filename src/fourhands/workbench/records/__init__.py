"""What is stored on disk: the journal, outputs, consent."""
