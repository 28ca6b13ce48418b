// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace sinew::launch::service {

/// A database of SQLite in one file, written ahead (WAL) and synchronised at each commit. All that
/// fails throws Unavailable, which names the file.
class Database {
public:
    /// Opens it, or creates it with mode 0600.
    explicit Database(std::string path);
    Database(Database const&) = delete;
    ~Database();

    /// Executes statements without values.
    void execute(char const* statements);
    /// How many rows the last statement has changed.
    int changes() const;
    /// The number of the row that was inserted last.
    std::int64_t last_row() const;

private:
    friend class Statement;
    [[noreturn]] void fail() const;

    std::string const path_;
    sqlite3* db_ = nullptr;
};

/// A statement and its values, which are bound in order.
class Statement {
public:
    Statement(Database& database, std::string const& words);
    Statement(Statement const&) = delete;
    ~Statement();

    Statement& bind(std::int64_t value);
    Statement& bind(std::string_view value);
    Statement& bind(std::optional<std::int64_t> const& value);

    /// Goes to the next row; false: there is none.
    bool next();
    /// Executes a statement that has no rows.
    void run() { next(); }
    // Of the present row.
    std::int64_t number(int column) const;
    std::optional<std::int64_t> optional_number(int column) const;
    std::string text(int column) const;

private:
    void check(int code);

    Database& database_;
    sqlite3_stmt* statement_ = nullptr;
    int bound_ = 0;
};

/// Changes that are stored together, or not at all if commit() is not reached.
class Transaction {
public:
    explicit Transaction(Database& database) : database_(database) {
        database_.execute("BEGIN IMMEDIATE");
    }
    Transaction(Transaction const&) = delete;
    ~Transaction();
    void commit();

private:
    Database& database_;
    bool done_ = false;
};

}  // namespace sinew::launch::service
