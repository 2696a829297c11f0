-- +goose Up
ALTER TABLE mcp_audit_log ADD COLUMN IF NOT EXISTS stages TEXT NULL;

-- +goose Down
ALTER TABLE mcp_audit_log DROP COLUMN IF EXISTS stages;
