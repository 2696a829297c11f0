-- +goose Up
CREATE TABLE IF NOT EXISTS mcp_audit_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  request_id TEXT NOT NULL,
  token_id INTEGER NULL,
  user_id VARCHAR(64) NULL,
  principal VARCHAR(190) NULL,
  key_id VARCHAR(64) NULL,
  tool_name VARCHAR(64) NOT NULL,
  args_masked TEXT NULL,
  outcome VARCHAR(16) NOT NULL,
  error_code VARCHAR(64) NULL,
  row_count INTEGER NOT NULL DEFAULT 0,
  duration_ms INTEGER NOT NULL DEFAULT 0,
  client_ip VARCHAR(64) NULL,
  schema_version INTEGER NULL,
  rules TEXT NULL,
  sql_hash TEXT NULL,
  create_time TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS mcp_audit_log_time ON mcp_audit_log (create_time);
CREATE INDEX IF NOT EXISTS mcp_audit_log_token ON mcp_audit_log (token_id, create_time);
CREATE INDEX IF NOT EXISTS mcp_audit_log_request ON mcp_audit_log (request_id);

-- +goose Down
DROP TABLE IF EXISTS mcp_audit_log;
