-- MySQL, other than MariaDB, knows no ADD COLUMN IF NOT EXISTS, and the step must be one that can be run again.
-- +goose Up
SET @resq_step = IF((SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'mcp_audit_log' AND COLUMN_NAME = 'stages') = 0, 'ALTER TABLE mcp_audit_log ADD COLUMN stages TEXT NULL', 'DO 0');
PREPARE resq_step FROM @resq_step;
EXECUTE resq_step;
DEALLOCATE PREPARE resq_step;

-- +goose Down
SET @resq_step = IF((SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'mcp_audit_log' AND COLUMN_NAME = 'stages') = 1, 'ALTER TABLE mcp_audit_log DROP COLUMN stages', 'DO 0');
PREPARE resq_step FROM @resq_step;
EXECUTE resq_step;
DEALLOCATE PREPARE resq_step;
