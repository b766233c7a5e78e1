-- Which way an operation goes, the plan under which it was turned back, what it is taken back to, and whether that was
-- seen to serve again. The sum is over what it is taken back to; null where that is nothing.
ALTER TABLE operation ADD COLUMN direction TEXT NOT NULL DEFAULT 'forward';
ALTER TABLE operation ADD COLUMN rollback_plan TEXT;
ALTER TABLE operation ADD COLUMN compensation BLOB;
ALTER TABLE operation ADD COLUMN restored INTEGER;
ALTER TABLE operation ADD COLUMN sum INTEGER;
-- Which way a step goes, and what undoes it; null where nothing does.
ALTER TABLE step ADD COLUMN direction TEXT NOT NULL DEFAULT 'forward';
ALTER TABLE step ADD COLUMN inverse TEXT;
-- What older programs knew by heart is written down.
UPDATE step SET inverse = CASE kind
    WHEN 'CreateLease' THEN 'DestroyLease'
    WHEN 'StartBootstrap' THEN 'CancelBootstrap'
    WHEN 'CancelBootstrap' THEN 'StartBootstrap'
    WHEN 'DestroyLease' THEN 'CreateLease'
END;
-- The classes of the way back stand between interruption and safe hold, which was 4.
UPDATE step SET rank = 7 WHERE rank = 4;
-- An operation that was broken off shows how far it had come.
UPDATE operation SET checkpoint = coalesce(
    (SELECT step.checkpoint FROM step WHERE step.operation = operation.id AND step.rank IS NOT NULL
     ORDER BY step.rank DESC, step.id DESC LIMIT 1),
    'intent-persisted')
WHERE checkpoint = 'interrupted';
