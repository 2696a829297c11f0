SELECT orderid, DATEDIFF(shippeddate, orderdate) AS days FROM orders WHERE shippeddate IS NOT NULL ORDER BY orderid LIMIT 60;
SELECT orderid, productid, unitprice * quantity * (1 - discount) AS line FROM `Order Details` ORDER BY orderid, productid LIMIT 100;
SELECT o.orderid, SUM(d.unitprice * d.quantity) AS s FROM orders o JOIN `Order Details` d USING (orderid) GROUP BY o.orderid ORDER BY s DESC, o.orderid LIMIT 10;
WITH x AS (SELECT customerid, orderid, orderdate, LEAD(orderdate) OVER (PARTITION BY customerid ORDER BY orderdate, orderid) AS next_day FROM orders) SELECT customerid, orderid, DATEDIFF(next_day, orderdate) AS gap FROM x WHERE DATEDIFF(next_day, orderdate) <= 5 ORDER BY customerid, orderid;
SELECT firstname, lastname, DATE_FORMAT(birthdate, '%d.%m.%Y') AS born, TIMESTAMPDIFF(YEAR, birthdate, '2020-01-01') AS age FROM employees ORDER BY employeeid;
SELECT categoryid, GROUP_CONCAT(productname ORDER BY productname SEPARATOR '; ') AS products FROM products GROUP BY categoryid ORDER BY categoryid;
SELECT shipcountry, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) AS share FROM orders GROUP BY shipcountry ORDER BY n DESC, shipcountry;
SELECT IF(ISNULL(region), 'none', region) AS region, COUNT(*) AS n FROM customers GROUP BY IF(ISNULL(region), 'none', region) ORDER BY region;
SELECT lastname, CHAR_LENGTH(notes) AS n, LOCATE('BA', notes) AS ba FROM employees ORDER BY employeeid;
