// tests/kit/s3rver.js - an object store, of npm's package @20minutes/s3rver
//
//     node s3rver.js MODULE DIRECTORY READY ID SECRET BUCKET...
//
// Keeps objects below DIRECTORY, on a free port of the loopback interface, which
// the file READY gets.
'use strict'

const fs = require('fs')
const path = require('path')

const [module_, directory, ready, id, secret, ...buckets] = process.argv.slice(2)
const S3rver = require(module_)
const { DUMMY_ACCOUNT } = require(path.join(module_, 'lib/models/account.js'))

DUMMY_ACCOUNT.createKeyPair(id, secret)
new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: buckets.map((name) => ({ name })),
}).run().then(({ port }) => {
    fs.writeFileSync(ready + '.new', port + '\n')
    fs.renameSync(ready + '.new', ready)
})
