-- +goose Up
CREATE TABLE IF NOT EXISTS agent_api_key (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  ak_sha256 TEXT NOT NULL,
  ak_cipher TEXT NOT NULL,
  ak_prefix VARCHAR(32) NOT NULL,
  name VARCHAR(190) NOT NULL,
  user_id VARCHAR(64) NULL,
  principal_type VARCHAR(32) NULL,
  principal VARCHAR(190) NULL,
  status INTEGER NOT NULL DEFAULT 1,
  expire_time TEXT NULL,
  last_used_time TEXT NULL,
  create_time TEXT NOT NULL,
  modify_time TEXT NULL,
  CONSTRAINT agent_api_key_sha256 UNIQUE (ak_sha256)
);
CREATE INDEX IF NOT EXISTS agent_api_key_user ON agent_api_key (user_id);

-- +goose Down
DROP TABLE IF EXISTS agent_api_key;
