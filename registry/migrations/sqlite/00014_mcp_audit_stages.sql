-- +goose Up
ALTER TABLE mcp_audit_log ADD COLUMN stages TEXT NULL;

-- +goose Down
ALTER TABLE mcp_audit_log DROP COLUMN stages;
