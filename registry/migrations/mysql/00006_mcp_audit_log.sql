-- +goose Up
CREATE TABLE IF NOT EXISTS mcp_audit_log (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  request_id VARCHAR(36) NOT NULL,
  token_id BIGINT NULL,
  user_id VARCHAR(64) NULL,
  principal VARCHAR(190) NULL,
  key_id VARCHAR(64) NULL,
  tool_name VARCHAR(64) NOT NULL,
  args_masked TEXT NULL,
  outcome VARCHAR(16) NOT NULL,
  error_code VARCHAR(64) NULL,
  row_count BIGINT NOT NULL DEFAULT 0,
  duration_ms BIGINT NOT NULL DEFAULT 0,
  client_ip VARCHAR(64) NULL,
  schema_version SMALLINT NULL,
  rules TEXT NULL,
  sql_hash TEXT NULL,
  create_time DATETIME(6) NOT NULL,
  INDEX mcp_audit_log_time (create_time),
  INDEX mcp_audit_log_token (token_id, create_time),
  INDEX mcp_audit_log_request (request_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS mcp_audit_log;
