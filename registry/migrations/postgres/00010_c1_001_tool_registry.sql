-- Every statement can be run again.
-- +goose Up
CREATE TABLE IF NOT EXISTS tools (
  tool_id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  description TEXT NULL,
  tool_type TEXT NOT NULL,
  source_type TEXT NOT NULL,
  input_schema TEXT NULL,
  output_schema TEXT NULL,
  read_only BOOLEAN NOT NULL DEFAULT FALSE,
  writes BOOLEAN NOT NULL DEFAULT FALSE,
  checkpointable BOOLEAN NOT NULL DEFAULT FALSE,
  side_effects BOOLEAN NOT NULL DEFAULT FALSE,
  config_yaml TEXT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CONSTRAINT uq_tools_name UNIQUE (name),
  CONSTRAINT ck_tools_tool_type CHECK (tool_type IN ('tool', 'validation')),
  CONSTRAINT ck_tools_source_type CHECK (source_type IN ('mcp', 'agent_skill', 'builtin', 'custom', 'wrapped'))
);
CREATE INDEX IF NOT EXISTS ix_tools_name ON tools (name);
CREATE INDEX IF NOT EXISTS ix_tools_tool_type ON tools (tool_type);
CREATE TABLE IF NOT EXISTS tool_bindings (
  binding_id TEXT NOT NULL PRIMARY KEY,
  tool_id TEXT NOT NULL,
  slot_name TEXT NOT NULL,
  resource_type TEXT NOT NULL,
  binding_mode TEXT NOT NULL,
  access_level TEXT NOT NULL DEFAULT 'read_only',
  created_at TEXT NOT NULL,
  CONSTRAINT uq_tool_bindings_tool_slot UNIQUE (tool_id, slot_name),
  CONSTRAINT ck_tool_bindings_mode CHECK (binding_mode IN ('context', 'static', 'parameter')),
  CONSTRAINT ck_tool_bindings_access CHECK (access_level IN ('read_only', 'read_write')),
  CONSTRAINT fk_tool_bindings_tool_id FOREIGN KEY (tool_id) REFERENCES tools (tool_id) ON DELETE CASCADE
);
CREATE TABLE IF NOT EXISTS validation_attachments (
  attachment_id TEXT NOT NULL PRIMARY KEY,
  resource_id TEXT NOT NULL,
  validation_name TEXT NOT NULL,
  mode TEXT NOT NULL DEFAULT 'required',
  created_at TEXT NOT NULL,
  CONSTRAINT uq_validation_attachments_resource_validation UNIQUE (resource_id, validation_name),
  CONSTRAINT ck_validation_attachments_mode CHECK (mode IN ('required', 'informational')),
  CONSTRAINT fk_validation_attachments_resource_id FOREIGN KEY (resource_id) REFERENCES resources (resource_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS ix_validation_attachments_resource_id ON validation_attachments (resource_id);
UPDATE alembic_version SET version_num = 'c1_001_tool_registry' WHERE version_num = 'b0_001_projects';

-- +goose Down
DROP TABLE IF EXISTS validation_attachments;
DROP TABLE IF EXISTS tool_bindings;
DROP TABLE IF EXISTS tools;
UPDATE alembic_version SET version_num = 'b0_001_projects' WHERE version_num = 'c1_001_tool_registry';
