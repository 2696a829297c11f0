CREATE TABLE login_role (user_id INTEGER, role_uuid VARCHAR(40));
CREATE TABLE site (id INTEGER PRIMARY KEY, agent_id INTEGER, property_id INTEGER, parent_id INTEGER, name VARCHAR(40));
CREATE TABLE device (id INTEGER PRIMARY KEY, site_id INTEGER, agent_code VARCHAR(40));
CREATE TABLE note (id INTEGER PRIMARY KEY, user_id INTEGER, body VARCHAR(40));
INSERT INTO login_role VALUES (2, 'r-1'), (2, 'r-2'), (2, 'r-1'), (3, NULL), (1, 'r-1');
INSERT INTO site VALUES (1, 10, 501, 0, 's1'), (2, 11, 502, 1, 's2'), (3, 20, 503, 2, 's3'), (4, 21, 504, 3, 's4'), (5, 30, 505, 4, 's5'), (6, 13, 506, 1, 's6'), (7, NULL, NULL, 1, 's7'), (8, 30, 504, 2, 's8');
INSERT INTO device VALUES (1, 1, 'Ten'), (2, 1, 'ten'), (3, 2, 'TEN'), (4, 3, 'Ten '), (5, 4, 'ten-one'), (6, 5, NULL), (7, 5, 'lone');
INSERT INTO note VALUES (1, 2, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 3, 'd'), (5, 3, 'e'), (6, 3, 'f'), (7, 3, 'g'), (8, 3, 'h');
