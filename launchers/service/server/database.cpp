// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/database.hpp"

#include <fcntl.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::service {

Database::Database(std::string path) : path_(std::move(path)) {
    {
        // SQLite gives its other files the mode of this one.
        UniqueFd const file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (!file) throw Unavailable(text(path_, " cannot be opened (", std::strerror(errno), ")"));
    }
    try {
        if (sqlite3_open_v2(path_.c_str(), &db_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK)
            fail();
        constexpr int patience_ms = 5000;  // with whoever reads the file by sqlite3
        sqlite3_busy_timeout(db_, patience_ms);
        execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    } catch (...) {
        sqlite3_close(std::exchange(db_, nullptr));
        throw;
    }
}

Database::~Database() { sqlite3_close(db_); }

void Database::execute(char const* statements) {
    if (sqlite3_exec(db_, statements, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

int Database::changes() const { return sqlite3_changes(db_); }
std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(db_); }

void Database::fail() const {
    throw Unavailable(text(path_, " cannot be used (", sqlite3_errmsg(db_),
                           "). Is its disk full, or was it written by another program?"));
}

Statement::Statement(Database& database, std::string const& words) : database_(database) {
    check(sqlite3_prepare_v2(database.db_, words.c_str(), static_cast<int>(words.size()),
                             &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::check(int code) {
    if (code == SQLITE_OK) return;
    database_.fail();
}

Statement& Statement::bind(std::int64_t value) {
    check(sqlite3_bind_int64(statement_, ++bound_, value));
    return *this;
}

Statement& Statement::bind(std::string_view value) {
    check(sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT,
                              SQLITE_UTF8));
    return *this;
}

Statement& Statement::bind(std::optional<std::int64_t> const& value) {
    if (value) return bind(*value);
    check(sqlite3_bind_null(statement_, ++bound_));
    return *this;
}

bool Statement::next() {
    int const code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) database_.fail();
    return false;
}

std::int64_t Statement::number(int column) const {
    return sqlite3_column_int64(statement_, column);
}

std::optional<std::int64_t> Statement::optional_number(int column) const {
    if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
    return number(column);
}

std::string Statement::text(int column) const {
    auto const* const bytes = sqlite3_column_blob(statement_, column);
    auto const size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? std::string() : std::string(static_cast<char const*>(bytes), size);
}

Transaction::~Transaction() {
    if (done_) return;
    try {
        database_.execute("ROLLBACK");
    } catch (Unavailable const&) {
        // SQLite has rolled back by itself when a statement failed.
    }
}

void Transaction::commit() {
    database_.execute("COMMIT");
    done_ = true;
}

}  // namespace sinew::launch::service
