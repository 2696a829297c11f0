SELECT OrderID, CAST(julianday(ShippedDate) - julianday(OrderDate) AS INTEGER) AS days FROM Orders WHERE ShippedDate IS NOT NULL ORDER BY OrderID LIMIT 60;
SELECT OrderID, ProductID, UnitPrice * Quantity * (1 - Discount) AS line FROM [Order Details] ORDER BY OrderID, ProductID LIMIT 100;
SELECT * FROM "Order Subtotals" ORDER BY OrderID LIMIT 50;
SELECT * FROM "Products by Category" ORDER BY CategoryName, ProductName;
SELECT CategoryName, CategorySales FROM "Category Sales for 1997" ORDER BY CategoryName;
WITH x AS (SELECT CustomerID, OrderID, OrderDate, LEAD(OrderDate) OVER (PARTITION BY CustomerID ORDER BY OrderDate, OrderID) AS next_day FROM Orders) SELECT CustomerID, OrderID, julianday(next_day) - julianday(OrderDate) AS gap FROM x WHERE gap <= 5 ORDER BY CustomerID, OrderID;
SELECT FirstName, LastName, strftime('%d.%m.%Y', BirthDate) AS born, CAST((julianday('2020-01-01') - julianday(BirthDate)) / 365.25 AS INTEGER) AS age FROM Employees ORDER BY EmployeeID;
SELECT ShipCountry, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) AS share FROM Orders GROUP BY ShipCountry ORDER BY n DESC, ShipCountry;
SELECT LastName, length(Notes) AS n, instr(Notes, 'BA') AS ba FROM Employees ORDER BY EmployeeID;
