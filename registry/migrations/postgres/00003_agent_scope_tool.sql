-- +goose Up
CREATE TABLE IF NOT EXISTS agent_scope_tool (
  scope_id BIGINT NOT NULL,
  tool_name VARCHAR(64) NOT NULL,
  PRIMARY KEY (scope_id, tool_name),
  CONSTRAINT agent_scope_tool_scope FOREIGN KEY (scope_id) REFERENCES agent_scope (id) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE IF EXISTS agent_scope_tool;
