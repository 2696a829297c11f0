-- Every statement can be run again.
-- +goose Up
CREATE TABLE IF NOT EXISTS tools (
  tool_id VARCHAR(26) NOT NULL PRIMARY KEY,
  name VARCHAR(190) NOT NULL,
  description MEDIUMTEXT NULL,
  tool_type VARCHAR(32) NOT NULL,
  source_type VARCHAR(32) NOT NULL,
  input_schema MEDIUMTEXT NULL,
  output_schema MEDIUMTEXT NULL,
  read_only BOOLEAN NOT NULL DEFAULT FALSE,
  writes BOOLEAN NOT NULL DEFAULT FALSE,
  checkpointable BOOLEAN NOT NULL DEFAULT FALSE,
  side_effects BOOLEAN NOT NULL DEFAULT FALSE,
  config_yaml MEDIUMTEXT NULL,
  created_at VARCHAR(40) NOT NULL,
  updated_at VARCHAR(40) NOT NULL,
  CONSTRAINT uq_tools_name UNIQUE (name),
  CONSTRAINT ck_tools_tool_type CHECK (tool_type IN ('tool', 'validation')),
  CONSTRAINT ck_tools_source_type CHECK (source_type IN ('mcp', 'agent_skill', 'builtin', 'custom', 'wrapped')),
  INDEX ix_tools_name (name),
  INDEX ix_tools_tool_type (tool_type)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS tool_bindings (
  binding_id VARCHAR(26) NOT NULL PRIMARY KEY,
  tool_id VARCHAR(26) NOT NULL,
  slot_name VARCHAR(190) NOT NULL,
  resource_type VARCHAR(190) NOT NULL,
  binding_mode VARCHAR(32) NOT NULL,
  access_level VARCHAR(32) NOT NULL DEFAULT 'read_only',
  created_at VARCHAR(40) NOT NULL,
  CONSTRAINT uq_tool_bindings_tool_slot UNIQUE (tool_id, slot_name),
  CONSTRAINT ck_tool_bindings_mode CHECK (binding_mode IN ('context', 'static', 'parameter')),
  CONSTRAINT ck_tool_bindings_access CHECK (access_level IN ('read_only', 'read_write')),
  CONSTRAINT fk_tool_bindings_tool_id FOREIGN KEY (tool_id) REFERENCES tools (tool_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS validation_attachments (
  attachment_id VARCHAR(26) NOT NULL PRIMARY KEY,
  resource_id VARCHAR(26) NOT NULL,
  validation_name VARCHAR(190) NOT NULL,
  mode VARCHAR(32) NOT NULL DEFAULT 'required',
  created_at VARCHAR(40) NOT NULL,
  CONSTRAINT uq_validation_attachments_resource_validation UNIQUE (resource_id, validation_name),
  CONSTRAINT ck_validation_attachments_mode CHECK (mode IN ('required', 'informational')),
  CONSTRAINT fk_validation_attachments_resource_id FOREIGN KEY (resource_id) REFERENCES resources (resource_id) ON DELETE CASCADE,
  INDEX ix_validation_attachments_resource_id (resource_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
UPDATE alembic_version SET version_num = 'c1_001_tool_registry' WHERE version_num = 'b0_001_projects';

-- +goose Down
DROP TABLE IF EXISTS validation_attachments;
DROP TABLE IF EXISTS tool_bindings;
DROP TABLE IF EXISTS tools;
UPDATE alembic_version SET version_num = 'b0_001_projects' WHERE version_num = 'c1_001_tool_registry';
