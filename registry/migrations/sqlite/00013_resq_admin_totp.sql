-- +goose Up
ALTER TABLE resq_admin ADD COLUMN totp VARCHAR(190) NULL;
ALTER TABLE resq_admin ADD COLUMN totp_step INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE resq_admin DROP COLUMN totp;
ALTER TABLE resq_admin DROP COLUMN totp_step;
