-- Every statement of the store, once for SQLite and PostgreSQL: `$1` parameters, RETURNING, ON CONFLICT.
-- A statement begins with its name between dashes; the line below says what it is for.

-- insert_run --
-- A request that was seen before (same key) changes no row
INSERT INTO runs (run_id, thread_id, state, version, owner, requester, request_key, created_at, updated_at, v, head)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10)
ON CONFLICT DO NOTHING
RETURNING run_id

-- run_by_request --
SELECT run_id FROM runs WHERE request_key = $1

-- run --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs WHERE run_id = $1

-- runs_like --
-- People type the beginning of an id
SELECT run_id FROM runs WHERE run_id >= $1 AND run_id < $2 ORDER BY run_id LIMIT 3

-- list_runs --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs ORDER BY created_at DESC LIMIT $1

-- list_runs_in --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs WHERE state = $2 ORDER BY created_at DESC LIMIT $1

-- last_run_of_thread --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs
WHERE thread_id = $1 ORDER BY created_at DESC, run_id DESC LIMIT 1

-- claim_run --
-- Of several claims exactly one finds the run ready
UPDATE runs SET state = 'running', owner = $2, version = version + 1, updated_at = $3
WHERE run_id = $1 AND state = 'ready'
RETURNING run_id, state, version, owner, updated_at, v, head, cancel,
  EXISTS (SELECT 1 FROM notes WHERE run_id = $1)

-- lock_run --
-- Taken first wherever a run and its interrupts change together, so that parking and settling cannot cross
UPDATE runs SET updated_at = updated_at WHERE run_id = $1
RETURNING run_id, state, version, owner, updated_at, v, head

-- save_run --
-- Writes only on top of the version this worker has seen. Parking finds the run ready again if its last
-- interrupt was settled meanwhile
UPDATE runs SET
  state = CASE WHEN $4 <> 'waiting' OR EXISTS (SELECT 1 FROM interrupts WHERE run_id = $1 AND status = 'open')
               THEN $4 ELSE 'ready' END,
  owner = CASE WHEN $4 = 'running' THEN owner ELSE NULL END,
  version = version + 1, updated_at = $5, v = $6, head = $7
WHERE run_id = $1 AND version = $2 AND owner = $3
RETURNING state, cancel, EXISTS (SELECT 1 FROM notes WHERE run_id = $1)

-- wake_run --
-- The last settled interrupt makes a waiting run claimable
UPDATE runs SET state = 'ready', version = version + 1, updated_at = $2
WHERE run_id = $1 AND state = 'waiting'
  AND NOT EXISTS (SELECT 1 FROM interrupts WHERE run_id = $1 AND status = 'open')
RETURNING run_id

-- cancel_run --
UPDATE runs SET cancel = $2, state = CASE WHEN state = 'waiting' THEN 'ready' ELSE state END,
  version = CASE WHEN state = 'waiting' THEN version + 1 ELSE version END, updated_at = $3
WHERE run_id = $1 AND state IN ('ready', 'running', 'waiting')
RETURNING state

-- cancels_of --
SELECT run_id, cancel FROM runs WHERE owner = $1 AND state = 'running' AND cancel IS NOT NULL

-- quarantine_run --
UPDATE runs SET state = 'quarantined', owner = NULL, version = version + 1, updated_at = $2 WHERE run_id = $1

-- quarantine_row --
INSERT INTO quarantine (source, name, at, why) VALUES ($1, $2, $3, $4)

-- quarantine_of --
SELECT why FROM quarantine WHERE name = $1 ORDER BY at DESC LIMIT 1

-- list_quarantine --
SELECT source, name, at, why FROM quarantine ORDER BY at

-- insert_entry --
INSERT INTO entries (run_id, seq, at, v, body) VALUES ($1, $2, $3, $4, $5)

-- entries --
SELECT seq, at, v, body FROM entries WHERE run_id = $1 AND seq < $2 ORDER BY seq

-- insert_interrupt --
-- Derived ids make a repeat after a crash a no-op
INSERT INTO interrupts (interrupt_id, run_id, thread_id, status, opened_at, expires_at, v, body)
VALUES ($1, $2, $3, 'open', $4, $5, $6, $7)
ON CONFLICT (interrupt_id) DO NOTHING

-- interrupt --
SELECT interrupt_id, run_id, status, v, body, outcome FROM interrupts WHERE interrupt_id = $1

-- settle_interrupt --
-- The only way an interrupt ends: of two answers, or an answer and the clock, one changes the row
UPDATE interrupts SET status = 'settled', settled_at = $2, outcome = $3
WHERE interrupt_id = $1 AND status = 'open'
RETURNING run_id

-- withdraw_open --
UPDATE interrupts SET status = 'settled', settled_at = $2, outcome = $3
WHERE run_id = $1 AND status = 'open'
RETURNING interrupt_id

-- open_interrupts --
SELECT interrupt_id, run_id, status, v, body, outcome FROM interrupts
WHERE status = 'open' ORDER BY expires_at, interrupt_id LIMIT $1

-- open_interrupts_of_run --
SELECT interrupt_id, run_id, status, v, body, outcome FROM interrupts
WHERE run_id = $1 AND status = 'open' ORDER BY opened_at, interrupt_id

-- interrupts_of_run --
SELECT interrupt_id, run_id, status, v, body, outcome FROM interrupts
WHERE run_id = $1 ORDER BY opened_at, interrupt_id

-- due_interrupts --
SELECT interrupt_id, run_id, status, v, body, outcome FROM interrupts
WHERE status = 'open' AND expires_at <= $1 ORDER BY expires_at LIMIT $2

-- insert_vote --
-- One vote a person
INSERT INTO votes (interrupt_id, voter, at, v, body) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (interrupt_id, voter) DO UPDATE SET at = excluded.at, v = excluded.v, body = excluded.body

-- votes --
SELECT v, body FROM votes WHERE interrupt_id = $1 ORDER BY at, voter

-- insert_note --
INSERT INTO notes (run_id, note_id, at, author, body)
SELECT $1, COALESCE(MAX(note_id), 0) + 1, $2, $3, $4 FROM notes WHERE run_id = $1

-- notes --
SELECT note_id, at, author, body FROM notes WHERE run_id = $1 ORDER BY note_id

-- delete_note --
DELETE FROM notes WHERE run_id = $1 AND note_id = $2

-- last_audit --
SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1

-- insert_audit --
INSERT INTO audit (seq, at, kind, run_id, body, hash) VALUES ($1, $2, $3, $4, $5, $6)

-- audit_after --
SELECT seq, at, kind, run_id, body, hash FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2

-- audit_of_run --
SELECT seq, at, kind, run_id, body, hash FROM audit WHERE run_id = $1 ORDER BY seq

-- beat --
INSERT INTO workers (worker_id, seen_at) VALUES ($1, $2)
ON CONFLICT (worker_id) DO UPDATE SET seen_at = excluded.seen_at

-- forget_worker --
DELETE FROM workers WHERE worker_id = $1

-- owners --
-- Workers that own a run now, and when they were last seen
SELECT DISTINCT runs.owner, workers.seen_at FROM runs LEFT JOIN workers ON workers.worker_id = runs.owner
WHERE runs.state = 'running' AND runs.state IN ('ready', 'running')

-- release_runs_of --
UPDATE runs SET state = 'ready', owner = NULL, version = version + 1, updated_at = $2
WHERE owner = $1 AND state = 'running'

-- release_run --
UPDATE runs SET state = 'ready', owner = NULL, version = version + 1, updated_at = $3
WHERE run_id = $1 AND owner = $2 AND state = 'running'

-- ready_runs --
SELECT run_id FROM runs WHERE state = 'ready' AND state IN ('ready', 'running') ORDER BY created_at

-- state_counts --
SELECT state, COUNT(*) FROM runs GROUP BY state ORDER BY state

-- touch_post --
-- A message that is already there is to be shown again; a new one is to be posted
INSERT INTO outbox (key, front, thread_id, run_id, kind, subject, body, wanted, shown, due_at, attempts)
VALUES ($1, $2, $3, $4, $5, $6, $7, 1, 0, $8, 0)
ON CONFLICT (key) DO UPDATE SET wanted = outbox.wanted + 1, attempts = 0, due_at = excluded.due_at,
  body = COALESCE(excluded.body, outbox.body)

-- touch_known_post --
UPDATE outbox SET wanted = wanted + 1, attempts = 0, due_at = $2 WHERE key = $1

-- due_posts --
SELECT key, front, thread_id, run_id, kind, subject, body, wanted, ref, attempts FROM outbox
WHERE front = $1 AND shown < wanted AND due_at <= $2 ORDER BY due_at, key LIMIT $3

-- next_post_due --
SELECT MIN(due_at) FROM outbox WHERE front = $1 AND shown < wanted

-- post --
SELECT key, front, thread_id, run_id, kind, subject, body, wanted, ref, attempts FROM outbox WHERE key = $1

-- post_shown --
-- Only as far as it was rendered: a change in between leaves it due again
UPDATE outbox SET shown = CASE WHEN $2 > shown THEN $2 ELSE shown END, ref = COALESCE($3, ref), attempts = 0
WHERE key = $1

-- post_failed --
UPDATE outbox SET attempts = attempts + 1, due_at = $2 WHERE key = $1

-- post_lost --
-- The message was deleted by somebody: forget where it was and show it anew
UPDATE outbox SET ref = NULL, wanted = wanted + 1, due_at = $2 WHERE key = $1

-- insert_use --
INSERT INTO uses (key, at, run_id) VALUES ($1, $2, $3)

-- count_uses --
SELECT COUNT(*) FROM uses WHERE key = $1 AND at > $2

-- forget_uses --
DELETE FROM uses WHERE at < $1

-- insert_grant --
INSERT INTO grants (grant_id, place, tool, granted_by, expires_at, max_uses, used, v, body)
VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8)

-- grants_here --
SELECT used, revoked_at, v, body FROM grants
WHERE place IN ($1, $2) AND tool = $3 AND revoked_at IS NULL AND expires_at > $4 AND used < max_uses

-- list_grants --
SELECT used, revoked_at, v, body FROM grants
WHERE revoked_at IS NULL AND expires_at > $1 AND used < max_uses ORDER BY expires_at LIMIT $2

-- use_grant --
-- Of several calls that want the last use exactly one gets it
UPDATE grants SET used = used + 1
WHERE grant_id = $1 AND revoked_at IS NULL AND expires_at > $2 AND used < max_uses
RETURNING grant_id

-- revoke_grant --
UPDATE grants SET revoked_at = $2 WHERE grant_id = $1 AND revoked_at IS NULL RETURNING grant_id

-- arm_timer --
INSERT INTO timers (interrupt_id, kind, ordinal, due_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (interrupt_id, kind, ordinal) DO NOTHING

-- disarm_timers --
DELETE FROM timers WHERE interrupt_id = $1

-- next_timer --
SELECT MIN(due_at) FROM timers

-- insert_token --
INSERT INTO api_tokens (name, hash, person, scopes, groups_, channel, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING
RETURNING name

-- token_by_hash --
SELECT name, hash, person, scopes, groups_, channel, created_at, revoked_at FROM api_tokens
WHERE hash = $1 AND revoked_at IS NULL

-- tokens_of --
SELECT name, hash, person, scopes, groups_, channel, created_at, revoked_at FROM api_tokens
WHERE person = $1 AND revoked_at IS NULL

-- list_tokens --
SELECT name, hash, person, scopes, groups_, channel, created_at, revoked_at FROM api_tokens ORDER BY name

-- revoke_token --
UPDATE api_tokens SET revoked_at = $2 WHERE name = $1 AND revoked_at IS NULL RETURNING name

-- entries_from --
SELECT seq, at, v, body FROM entries WHERE run_id = $1 AND seq >= $2 AND seq < $3 ORDER BY seq

-- runs_of_thread --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs
WHERE thread_id = $1 ORDER BY created_at, run_id LIMIT $2

-- list_runs_of --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs
WHERE requester = $2 ORDER BY created_at DESC LIMIT $1

-- change_waiting_run --
-- Only while it waits, and only on top of the version that was looked at
UPDATE runs SET head = $3, version = version + 1, updated_at = $4
WHERE run_id = $1 AND version = $2 AND state = 'waiting'
RETURNING version

-- runs_touched_since --
-- Every step of a run leaves a record, so the audit log is also the feed of what changed
SELECT seq, run_id FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2

-- open_bodies --
SELECT v, body, interrupt_id FROM interrupts WHERE status = 'open' LIMIT $1

-- oldest_post --
SELECT front, COUNT(*), MIN(due_at) FROM outbox WHERE shown < wanted GROUP BY front

-- oldest_ready --
SELECT COUNT(*), MIN(updated_at) FROM runs WHERE state = 'ready' AND state IN ('ready', 'running')

-- overdue_timers --
SELECT COUNT(*), MIN(due_at) FROM timers WHERE due_at <= $1
