-- A sum over each row that decisions start from; null in rows that an older program wrote.
ALTER TABLE owner ADD COLUMN sum INTEGER;
ALTER TABLE shape ADD COLUMN sum INTEGER;
ALTER TABLE record ADD COLUMN sum INTEGER;
ALTER TABLE group_hold ADD COLUMN sum INTEGER;
ALTER TABLE rollout ADD COLUMN sum INTEGER;
ALTER TABLE used_plan ADD COLUMN sum INTEGER;
