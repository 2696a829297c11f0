-- +goose Up
CREATE TABLE IF NOT EXISTS token_scope (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  token_id INTEGER NOT NULL,
  scope_id INTEGER NOT NULL,
  create_time TEXT NOT NULL,
  modify_time TEXT NULL,
  CONSTRAINT token_scope_pair UNIQUE (token_id, scope_id),
  CONSTRAINT token_scope_token FOREIGN KEY (token_id) REFERENCES agent_api_key (id) ON DELETE CASCADE,
  CONSTRAINT token_scope_scope FOREIGN KEY (scope_id) REFERENCES agent_scope (id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS token_scope_scope_id ON token_scope (scope_id);

-- +goose Down
DROP TABLE IF EXISTS token_scope;
