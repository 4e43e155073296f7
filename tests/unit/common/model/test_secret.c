/* tests/unit/common/model/test_secret.c - what is a secret, and what is not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/secret.h"

#include <string.h>

static const struct {
    const char *text;
    bool secret;
} names[] = {
    { "KEY", true }, { "key", true }, { "keys", true }, { "API_KEY", true },
    { "apikey", true }, { "apiKeys", true }, { "WANDB_API_KEY", true },
    { "--api-key", true }, { "access_key", true }, { "AWS_ACCESSKEY", true },
    { "private_key", true }, { "sshkey", true }, { "ssh_keys", true },
    { "auth.key", true }, { "my-key", true }, { "secretkey", true },
    { "HF_TOKEN", true }, { "token", true }, { "client_secret", true },
    { "PGPASSWORD", true }, { "passwd", true }, { "credentials", true },
    { "tokenizer", true },      // as before: better once too often
    { "test_key1", false }, { "monkey", false }, { "keyboard", false },
    { "key_size", false }, { "KEYS_PER_RANK", false }, { "hotkey", false },
    { "xapikey", false }, { "", false }, { "k", false }, { "keyss", false },
    { "pg_name", false }, { "world_size", false },
};

static const struct {
    const char *text;
    bool secret;
} values[] = {
    { "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", true },
    { "use hf_abcdefghijklmnopqrstuvwxyzABCDEFGH here", true },
    { "sk-0123456789abcdef0123456789abcdef", true },
    { "sk-proj-0123456789abcdef_0123-456789", true },
    { "AKIAIOSFODNN7EXAMPLE", true },
    { "key=AKIAIOSFODNN7EXAMPLE;", true },
    { "ghp_0123456789abcdefghij0123456789abcdef", true },
    { "-----BEGIN RSA PRIVATE KEY-----\nMIIE", true },
    { "x\n-----BEGIN CERTIFICATE-----", true },
    { "https://user:pass@host/path", true },
    { "http://proxy:p%40ss@10.0.0.1:3128", true },
    { "see postgres://u:p@db and so on", true },
    { "redis://:pass@cache:6379/0", true },
    { "user:pass@host", true },
    { "git:word@example.com:22/repo", true },
    // what is none
    { "", false }, { "hf_", false }, { "hf_config", false },
    { "/models/hf_llama/x", false }, { "sk-learn", false },
    { "task-0123456789abcdef0123456789", false },   // no edge before sk-
    { "risk-adjusted-returns-over-time", false }, { "AKIA", false },
    { "MAKIAIOSFODNN7EXAMPLE", false },
    { "https://host:8080/path", false },
    { "https://user@host/path", false }, { "git@github.com:a/b", false },
    { "tcp://10.0.0.1:7077", false }, { "10:20@3", false },
    { "hcom_allReduce__206_0_1@7954826", false },
    { "a:b", false }, { "user@host", false }, { "http://a/b:c@d", false },
    { "gloo:all_reduce", false }, { "1e-5", false }, { "--lr 0.1", false },
    { "max_split_size_mb:128,expandable_segments:True", false },
    { "cpu:gloo,cuda:nccl", false }, { "nccl:all@2", false },
};

static void test_names (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        if (secret_name (names[i].text, strlen (names[i].text)) !=
            names[i].secret)
            fail_msg ("name \"%s\"", names[i].text);
    }
    assert_false (secret_name ("keyboard", 2));     // "ke"
    assert_true (secret_name ("key1", 3));
}

static void test_values (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof (values) / sizeof (values[0]); i++) {
        if (secret_value (values[i].text, strlen (values[i].text)) !=
            values[i].secret)
            fail_msg ("value \"%s\"", values[i].text);
    }
    assert_false (secret_value ("AKIAIOSFODNN7EXAMPLE", 19));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_names),
        cmocka_unit_test (test_values),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
