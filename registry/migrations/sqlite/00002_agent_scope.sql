-- +goose Up
CREATE TABLE IF NOT EXISTS agent_scope (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  scope_code VARCHAR(64) NOT NULL,
  scope_name VARCHAR(190) NOT NULL,
  status INTEGER NOT NULL DEFAULT 1,
  create_time TEXT NOT NULL,
  modify_time TEXT NULL,
  CONSTRAINT agent_scope_code UNIQUE (scope_code)
);

-- +goose Down
DROP TABLE IF EXISTS agent_scope;
