-- +goose Up
CREATE TABLE IF NOT EXISTS mcp_tool (
  tool_name VARCHAR(64) NOT NULL PRIMARY KEY,
  category VARCHAR(64) NULL,
  title VARCHAR(190) NULL,
  enabled INTEGER NOT NULL DEFAULT 1,
  modify_time TEXT NULL
);

-- +goose Down
DROP TABLE IF EXISTS mcp_tool;
