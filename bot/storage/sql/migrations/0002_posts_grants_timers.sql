-- Messages a front must show, and has to show again whenever what they are about changes. The text is rendered from
-- the rows they are about, at the moment of posting; `ref` is where the message is.
CREATE TABLE outbox (
  key       TEXT PRIMARY KEY,
  front     TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  run_id    TEXT NOT NULL,
  kind      TEXT NOT NULL,
  subject   TEXT NOT NULL,
  body      TEXT,
  wanted    BIGINT NOT NULL,
  shown     BIGINT NOT NULL,
  due_at    BIGINT NOT NULL,
  attempts  BIGINT NOT NULL,
  ref       TEXT
);
CREATE INDEX outbox_due ON outbox (front, due_at) WHERE shown < wanted;

-- What counts against the limits of a policy.
CREATE TABLE uses (
  key    TEXT NOT NULL,
  at     BIGINT NOT NULL,
  run_id TEXT NOT NULL
);
CREATE INDEX uses_by_key ON uses (key, at);

CREATE TABLE grants (
  grant_id   TEXT PRIMARY KEY,
  place      TEXT NOT NULL,
  tool       TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  max_uses   BIGINT NOT NULL,
  used       BIGINT NOT NULL,
  revoked_at BIGINT,
  v          INTEGER NOT NULL,
  body       TEXT NOT NULL
);
CREATE INDEX grants_by_place ON grants (place, tool);

-- Reminders, escalation and expiry of open interrupts, armed and disarmed with them.
CREATE TABLE timers (
  interrupt_id TEXT NOT NULL,
  kind         TEXT NOT NULL,
  ordinal      BIGINT NOT NULL,
  due_at       BIGINT NOT NULL,
  PRIMARY KEY (interrupt_id, kind, ordinal)
);
CREATE INDEX timers_due ON timers (due_at);
