-- Bearer tokens of the HTTP API. Only the hash of a token is kept; `groups_` and `scopes` are JSON lists.
CREATE TABLE api_tokens (
  name       TEXT PRIMARY KEY,
  hash       TEXT NOT NULL UNIQUE,
  person     TEXT NOT NULL,
  scopes     TEXT NOT NULL,
  groups_    TEXT NOT NULL,
  channel    TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  revoked_at BIGINT
);
CREATE INDEX api_tokens_by_person ON api_tokens (person);
