-- What Slack delivered, stored before it is acked. `body` is emptied once it is done; the id is kept a while longer,
-- because the same delivery may come again.
CREATE TABLE inbox (
  id      TEXT PRIMARY KEY,
  kind    TEXT NOT NULL,
  at      BIGINT NOT NULL,
  owner   TEXT NOT NULL,
  body    TEXT NOT NULL,
  done_at BIGINT
);
CREATE INDEX inbox_open ON inbox (owner) WHERE done_at IS NULL;
CREATE INDEX inbox_by_age ON inbox (at);

-- One writer per message, in any number of processes: whoever holds the lease posts. `takes` counts the attempts that
-- may have reached Slack although no reference came back; the next one looks before it posts.
ALTER TABLE outbox ADD COLUMN lease_owner TEXT;
ALTER TABLE outbox ADD COLUMN lease_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN takes BIGINT NOT NULL DEFAULT 0;
CREATE INDEX outbox_by_ref ON outbox (ref) WHERE ref IS NOT NULL;
