-- What the failure of a step was, `CLASS/CERTAINTY`; null for a step that succeeded, and where no call of it failed.
ALTER TABLE step ADD COLUMN failure TEXT;
