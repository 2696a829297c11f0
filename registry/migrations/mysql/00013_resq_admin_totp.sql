-- MySQL, other than MariaDB, knows no ADD COLUMN IF NOT EXISTS, and the step must be one that can be run again.
-- +goose Up
SET @resq_step = IF((SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'resq_admin' AND COLUMN_NAME = 'totp') = 0, 'ALTER TABLE resq_admin ADD COLUMN totp VARCHAR(190) NULL, ADD COLUMN totp_step BIGINT NOT NULL DEFAULT 0', 'DO 0');
PREPARE resq_step FROM @resq_step;
EXECUTE resq_step;
DEALLOCATE PREPARE resq_step;

-- +goose Down
SET @resq_step = IF((SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'resq_admin' AND COLUMN_NAME = 'totp') = 1, 'ALTER TABLE resq_admin DROP COLUMN totp, DROP COLUMN totp_step', 'DO 0');
PREPARE resq_step FROM @resq_step;
EXECUTE resq_step;
DEALLOCATE PREPARE resq_step;
