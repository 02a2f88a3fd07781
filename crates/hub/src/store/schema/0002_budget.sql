-- A purse is called a budget.
ALTER TABLE raises RENAME COLUMN purse TO budget;
ALTER TABLE refusals RENAME COLUMN purse TO budget;
