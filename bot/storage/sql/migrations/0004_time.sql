-- Who joined by escalation, as JSON; NULL for nobody.
ALTER TABLE interrupts ADD COLUMN escalated TEXT;
-- Who wanted to be reminded ("not now"); NULL for everybody who can decide.
ALTER TABLE timers ADD COLUMN who TEXT;
-- Every interrupt expires, also those that were asked before there were timers.
INSERT INTO timers (interrupt_id, kind, ordinal, due_at)
SELECT interrupt_id, 'expire', 0, expires_at FROM interrupts WHERE status = 'open'
ON CONFLICT (interrupt_id, kind, ordinal) DO NOTHING;

-- What was done last by whichever process did it: the digest, the retention.
CREATE TABLE marks (
  name TEXT PRIMARY KEY,
  at   BIGINT NOT NULL
);

-- Which run goes on from which: the transcript of a base is part of the other's.
CREATE TABLE bases (
  run_id  TEXT PRIMARY KEY,
  base_id TEXT NOT NULL
);
CREATE INDEX bases_by_base ON bases (base_id);

-- Runs that are gone, but whose rows are still being removed in small steps.
CREATE TABLE leftovers (
  run_id TEXT PRIMARY KEY
);
CREATE INDEX runs_over ON runs (updated_at) WHERE state IN ('done', 'failed', 'cancelled');
CREATE INDEX interrupts_by_run ON interrupts (run_id);
CREATE INDEX outbox_by_run ON outbox (run_id);
CREATE INDEX uses_by_time ON uses (at);
